"""The one function that everything else goes through."""

import numbers
from collections.abc import Callable
from typing import Any, NamedTuple

from dualgap.solution import Record, Solution, Status


def solve(
    X: Any,
    y: Any = None,
    *,
    loss: Any,
    penalty: Any,
    sample_weight: Any = None,
    intercept: bool = False,
    solver: Any = "auto",
    tol: float = 1e-6,
    max_passes: float = 1000,
    time_limit: float | None = None,
    warm_start: Solution | None = None,
    random_state: Any = 0,
    callback: Callable[[Record], Any] | None = None,
    checkpoint: Any = None,
    n_threads: int | None = None,
    verbose: bool = False,
) -> Solution:
    """Minimize a regularized loss, and prove how close to the minimum the solution is.

    Minimizes 1/S sum_i s_i phi_i(x_i'w + b) + R(w) over w, and b where an intercept is fitted, with S = sum_i s_i.

    Parameters
    ----------
    X : scipy CSR matrix or array, or C-contiguous array, of float32 or float64, n x d, or a Store
        Read in place, never copied; other layouts and types are converted once, and the solution's notes say so.
        A `Store` may be larger than memory.
    y : array of n targets
        Numbers for a loss of regression, -1 and +1 for one of classification, 0 .. k-1 for a vector-valued one; by default those of the
        store.
    loss : a loss, such as `Logistic()`, `SmoothHinge(gamma=1.0)`, `Softmax()`, or one of your own
    penalty : a penalty, such as `L2(1e-4)` or `ElasticNet(l1=1e-5, l2=1e-6)`, or one of your own
    sample_weight : array of n nonnegative numbers, optional
        A weight of 2 means the same as the row given twice.
    intercept : bool
        Whether to fit an unpenalized constant.
    solver : a solver object, or the name of one: "auto", "adaptive", "working_set", "newton", and others in `dualgap.solvers.SOLVERS`
    tol : float
        The certified gap to reach, relative to the objective of the null model (w = 0 and the best intercept).
    max_passes, time_limit : float
        Limits in passes over the data (evaluations of the certificate count) and in seconds, at which the best solution so far is returned.
    warm_start : Solution, optional
        An earlier solution, of another penalty or loss, or of the first rows of X.
    random_state : int, numpy Generator or None
        Seed of the order in which rows are visited; None takes a new one each time.
    callback : function of a Record, optional
        Called at each certificate; a true result ends the solve.
    checkpoint : Checkpoint, optional
        Where the state of the solve is kept, and resumed from.
    n_threads : int, optional
        Threads to work with: by default all cores that this process may use, or fewer where joblib, threadpoolctl or OMP_NUM_THREADS say
        so. A solve can be repeated bit by bit with the same seed and number of threads; small problems take one.
    verbose : bool
        Whether to show the gap while it goes down.

    Returns
    -------
    Solution
        With `w`, `alpha`, `intercept`, `primal`, `dual`, `gap`, `relative_gap`, `status`, `passes` and `history`. Stopping short of the
        tolerance is a status, not an error. Ctrl-C ends the solve like a limit does.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgap as dg
    >>> X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, -1.0], [3.0, 0.0]])
    >>> s = dg.solve(X, [1.0, 2.0, 3.0, 4.0], loss=dg.Squared(), penalty=dg.L2(0.1), intercept=True, tol=1e-8)
    >>> s.status.name, bool(s.relative_gap <= 1e-8)
    ('CERTIFIED', True)
    """
    from dualgap.checkpoint import Checkpoint
    from dualgap.data.validation import check_number, check_random_state, make_problem

    if not isinstance(max_passes, numbers.Real) or isinstance(max_passes, bool) or not max_passes > 0:
        raise ValueError(f"max_passes must be a positive number, got {max_passes!r}")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of a Record, got {callback!r}")
    if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
        raise TypeError(f"checkpoint must be a dualgap.Checkpoint, got {checkpoint!r}")
    options: dict[str, Any] = {
        "tol": check_number("tol", tol, 0.0, open_low=True),
        "max_passes": float(max_passes),
        "time_limit": None if time_limit is None else check_number("time_limit", time_limit, 0.0),
    }
    problem, notes = make_problem(X, y, loss, penalty, sample_weight, intercept, n_threads)
    stated = Stated(problem, loss, penalty, tuple(notes))
    options |= {"solver": solver, "warm_start": warm_start, "callback": callback, "verbose": verbose}
    options["random_state"] = check_random_state(random_state)
    return solve_stated(stated, checkpoint=checkpoint, **options)


class Stated(NamedTuple):
    """A problem with the loss and the penalty as the caller gave them, and remarks about its input."""

    problem: Any
    loss: Any
    penalty: Any
    notes: tuple[str, ...] = ()


def solve_stated(
    stated: Stated,
    *,
    tol: float,
    max_passes: float,
    time_limit: float | None,
    solver: Any = "auto",
    warm_start: Any = None,
    random_state: Any = 0,
    callback: Callable[[Record], Any] | None = None,
    verbose: bool = False,
    checkpoint: Any = None,
    null: Any = None,
) -> Solution:
    """Solve a problem that has been validated; `null` is its null model's `PrimalPoint`, if it is known."""
    from dualgap.certificate import primal_point
    from dualgap.null import null_weights
    from dualgap.solvers import check_solver
    from dualgap.solvers.run import Run, interruptible
    from dualgap.warm import warm_point

    problem = stated.problem
    chosen = check_solver(solver, problem)
    with problem.team.at_work():
        null = null or primal_point(problem, null_weights(problem))
    run = Run(problem, null, tol=tol, max_passes=max_passes, time_limit=time_limit, random_state=random_state)
    run.notes += stated.notes
    with problem.team.at_work(), _shown(verbose, callback, run.target, run.null) as run.callback:
        with interruptible(run):
            alpha = checkpoint.begin(run) if checkpoint is not None else None
            if alpha is None:
                alpha = warm_point(problem, run, warm_start) if warm_start is not None else run.cold_point()
            if run.going:
                chosen.minimize(problem, run, alpha)
        if checkpoint is not None:
            checkpoint.save(run, ended=run.status is Status.CERTIFIED)
    if not problem.resident:
        run.notes.append(f"The store was read {problem.rows.reads:.1f} times.")
    return run.solution(stated.loss, stated.penalty, chosen)


def _shown(verbose: bool, callback: Callable[[Record], Any] | None, target: float, null: float) -> Any:
    """The callback of the run: the caller's, after the display if one is asked for."""
    from dualgap.report.progress import Progress, Silent

    return Progress(callback, target, null) if verbose else Silent(callback)
