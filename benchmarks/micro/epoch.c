/* One pass of Prox-SDCA as one would write it by hand in C: the yardstick of src/dualgap/kernels/epoch.py.

Storage, loss and penalty are constants of each function below, so that the compiler sees one loop. With -DFETCH=0 nothing is fetched ahead of
its use, with -DLARGE=... the elements of u are where it has more of them. */

#include <math.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))
#define NEXT 2
#ifndef FETCH
#define FETCH 1
#endif
#ifndef LARGE
#define LARGE (1 << 19)
#endif
#define MOST 64
#define SMALLEST 1e-290

typedef uint32_t index_t;

struct problem {
    int64_t n, d, k, ahead, share_step;  /* a step of 0 where all rows weigh the same */
    const index_t *indptr, *indices;
    const double *data, *share, *norms2;
    const void *y;
    double gamma, l1, inverse;
};

INLINE double largest(double a, double b) { return a > b ? a : b; }
INLINE double least(double a, double b) { return a < b ? a : b; }

INLINE double elastic_net(const struct problem *p, double u) {
    return copysign(largest(fabs(u) - p->l1, 0.0), u) * p->inverse;
}

INLINE double smooth_hinge(double gamma, double alpha, double y, double z, double q) {
    double t = alpha * y;
    return largest(0.0, least(1.0, t + (1.0 - y * z - gamma * t) / (q + gamma))) * y;
}

INLINE double logistic(double gamma, double alpha, double y, double z, double q) {
    double t = alpha * y, m = y * z, r, s = 0.0;
    int reflected = m + q * (0.5 - t) < 0.0;
    if (reflected) {
        t = 1.0 - t;
        m = -m;
    }
    if (t > 0.0 && t < 1.0) {
        r = log(t / (1.0 - t));
        r -= (r + m) / (1.0 + q * t * (1.0 - t));
    } else {
        r = q * t - m;
    }
    for (int round = 0; round < 100; round++) {
        r = largest(-745.0, least(0.0, r));
        double e = exp(r);
        s = e / (1.0 + e);
        double slope = 1.0 + q * s * (1.0 - s);
        double move = -(r + m + q * (s - t)) / slope;
        if (fabs(move) < 1.0) move /= 1.0 + 0.5 * move * (1.0 - 2.0 * s) * (1.0 - 1.0 / slope);
        if (r == -745.0 && move < 0.0) {
            s = 0.0;
            break;
        }
        if (fabs(move) <= 5e-4) {
            s += s * (1.0 - s) * move * (1.0 + 0.5 * (1.0 - 2.0 * s) * move);
            break;
        }
        r += move;
    }
    return (reflected ? 1.0 - s : s) * y;
}

/* where row i begins and ends, in its own columns where it is dense */
INLINE const double *values_of(const struct problem *p, int sparse, index_t i) {
    return p->data + (sparse ? p->indptr[i] : (int64_t)i * p->d);
}

INLINE int64_t length_of(const struct problem *p, int sparse, index_t i) {
    return sparse ? p->indptr[i + 1] - p->indptr[i] : p->d;
}

INLINE void fetch(const void *begin, int64_t bytes) {
    for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch((const char *)begin + b);
    __builtin_prefetch((const char *)begin + bytes - 1);
}

/* the same look-ahead as src/dualgap/kernels/ahead.py; `width` is how many numbers alpha has for a row and u for a column */
INLINE void look_ahead(const struct problem *p, int sparse, int64_t width, const double *alpha, const double *u, const index_t *order, int64_t t,
                       int64_t steps) {
#if FETCH
    if (t + 2 * p->ahead < steps) {
        index_t i = order[t + 2 * p->ahead];
        if (sparse) __builtin_prefetch(p->indptr + i);
        fetch(alpha + i * width, width * sizeof(double));
        __builtin_prefetch((const double *)p->y + i);
        __builtin_prefetch(p->norms2 + i);
        if (p->share_step) __builtin_prefetch(p->share + i);
    }
    if (t + p->ahead < steps) {
        index_t i = order[t + p->ahead];
        int64_t length = length_of(p, sparse, i);
        if (sparse) fetch(p->indices + p->indptr[i], length * sizeof(index_t));
        fetch(values_of(p, sparse, i), length * sizeof(double));
    }
    if (sparse && (p->d + 1) * width > LARGE && t + NEXT < steps) {
        index_t i = order[t + NEXT];
        for (int64_t e = p->indptr[i]; e < p->indptr[i + 1]; e++) fetch(u + p->indices[e] * width, width * sizeof(double));
    }
#endif
}

typedef double step_t(double gamma, double alpha, double y, double z, double q);

INLINE void epoch(const struct problem *p, int sparse, step_t *step, double *alpha, double *restrict u, const index_t *order, int64_t steps) {
    const double *y = p->y;
    for (int64_t t = 0; t < steps; t++) {
        look_ahead(p, sparse, 1, alpha, u, order, t, steps);
        index_t i = order[t];
        const double *restrict x = values_of(p, sparse, i);
        const index_t *restrict column = p->indices + (sparse ? p->indptr[i] : 0);
        int64_t length = length_of(p, sparse, i);
        double z = 0.0;
        for (int64_t e = 0; e < length; e++) z += x[e] * elastic_net(p, u[sparse ? column[e] : e]);
        double q = p->share[i * p->share_step] * p->norms2[i] * p->inverse;
        double new = step(p->gamma, alpha[i], y[i], z, q);
        if (new != alpha[i]) {
            double c = p->share[i * p->share_step] * (new - alpha[i]);
            for (int64_t e = 0; e < length; e++) u[sparse ? column[e] : e] += c * x[e];
            u[p->d] += c;
            alpha[i] = new;
        }
    }
}

/* The exact step of softmax: log p_j + rho p_j = x_j - theta with sum p = 1; see src/dualgap/multiclass.py. */

INLINE double log_linear_root(double x, double rho, double log_rho, double p, double log_p) {
    double w = rho * p, r = x - w - log_p;
    if (p == 0.0 || fabs(r) > 0.5 * (1.0 + w)) {
        double shifted = x + log_rho;
        if (shifted < 0.0) {
            if (x < -667.0) return 0.0;
            p = exp(x);
            w = rho * p;
            p *= (1.0 + 0.5 * w) / (1.0 + 1.5 * w);
        } else if (shifted < 3.0) {
            p = (0.5671 + shifted * (0.39 + 0.053 * shifted)) / rho;
        } else {
            double log_shifted = log(shifted);
            p = (shifted - log_shifted + log_shifted / shifted) / rho;
        }
        w = rho * p;
        r = x - w - log(p);
    }
    for (int round = 0; round < 4; round++) {
        double v = 1.0 + w, s = 2.0 * v * (v + 2.0 * r / 3.0);
        p *= 1.0 + r / v * (s - r) / (s - 2.0 * r);
        if (fabs(r) <= 1e-3 * v) break;
        w = rho * p;
        r = x - w - log(p);
    }
    return p;
}

INLINE double moved(double p, double rho, double d) {
    double s = 1.0 / (1.0 + rho * p), t = s * d;
    return fabs(t) < 0.5 ? p * (1.0 - t + 0.5 * s * t * t) : 0.0;
}

INLINE void softmax(int64_t k, const double *alpha, int64_t y, const double *z, double rho, double *out) {
    double log_rho = rho > 0.0 ? log(rho) : -1e300, top = -1e300, weight = 0.0, weighted = 0.0;
    for (int64_t j = 0; j < k; j++) {
        double p = j == y ? 1.0 - alpha[j] : -alpha[j];
        top = largest(top, z[j] + rho * p);
        out[j] = 0.0;
        if (p > SMALLEST) {
            out[j] = log(p);
            double slope = p / (1.0 + rho * p);
            weight += slope;
            weighted += slope * (z[j] - out[j]);
        }
    }
    double low = top - rho, high = top - rho / k + log((double)k), d = 0.0;
    double theta = weight > 0.0 ? least(largest(weighted / weight, low), high) : low;
    for (int round = 0; round < 200; round++) {
        double mass = 0.0, slope = 0.0;
        for (int64_t j = 0; j < k; j++) {
            double old = j == y ? 1.0 - alpha[j] : -alpha[j], p = old, log_p = out[j];
            if (round > 0) {
                p = moved(out[j], rho, d);
                log_p = p > SMALLEST ? log(p) : 0.0;
            }
            if (p <= SMALLEST) p = 0.0;
            out[j] = log_linear_root(z[j] - theta + rho * old, rho, log_rho, p, log_p);
            mass += out[j];
            slope += out[j] / (1.0 + rho * out[j]);
        }
        d = log(mass) + (mass / slope - 1.0) * (mass - 1.0) / mass;
        if (fabs(d) <= 1e-5 || fabs(mass - 1.0) <= 1e-14) break;
        if (mass > 1.0) low = largest(low, theta);
        else high = least(high, theta);
        double proposal = theta + d;
        if (!(low < proposal && proposal < high)) proposal = 0.5 * (low + high);
        d = proposal - theta;
        theta = proposal;
    }
    if (fabs(d) > 1e-5) d = 0.0;
    double mass = 0.0, rest = 0.0;
    for (int64_t j = 0; j < k; j++) {
        out[j] = moved(out[j], rho, d);
        mass += out[j];
    }
    for (int64_t j = 0; j < k; j++) {
        double p = out[j] / mass;
        if (j != y) rest += p;
        out[j] = -p;
    }
    out[y] = least(1.0, rest);
}

INLINE void vector_epoch(const struct problem *p, int sparse, double *alpha, double *restrict u, const index_t *order, int64_t steps) {
    int64_t k = p->k;
    const int64_t *y = p->y;
    double z[MOST], new[MOST];
    for (int64_t t = 0; t < steps; t++) {
        look_ahead(p, sparse, k, alpha, u, order, t, steps);
        index_t i = order[t];
        const double *restrict x = values_of(p, sparse, i);
        const index_t *restrict column = p->indices + (sparse ? p->indptr[i] : 0);
        int64_t length = length_of(p, sparse, i);
        double *restrict a = alpha + i * k;
        for (int64_t m = 0; m < k; m++) z[m] = 0.0;
        for (int64_t e = 0; e < length; e++) {
            const double *v = u + (sparse ? column[e] : e) * k;
            for (int64_t m = 0; m < k; m++) z[m] += x[e] * elastic_net(p, v[m]);
        }
        softmax(k, a, y[i], z, p->share[i * p->share_step] * p->norms2[i] * p->inverse, new);
        for (int64_t m = 0; m < k; m++) {
            double old = a[m];
            a[m] = new[m];
            new[m] -= old;
        }
        for (int64_t e = 0; e < length; e++) {
            double c = p->share[i * p->share_step] * x[e], *v = u + (sparse ? column[e] : e) * k;
            for (int64_t m = 0; m < k; m++) v[m] += c * new[m];
        }
        for (int64_t m = 0; m < k; m++) u[p->d * k + m] += p->share[i * p->share_step] * new[m];
    }
}

#define EPOCH(NAME, ...) \
    void NAME(const struct problem *p, double *alpha, double *u, const index_t *order, int64_t steps) { __VA_ARGS__; }

EPOCH(sparse_smooth_hinge, epoch(p, 1, smooth_hinge, alpha, u, order, steps))
EPOCH(dense_smooth_hinge, epoch(p, 0, smooth_hinge, alpha, u, order, steps))
EPOCH(sparse_logistic, epoch(p, 1, logistic, alpha, u, order, steps))
EPOCH(dense_logistic, epoch(p, 0, logistic, alpha, u, order, steps))
EPOCH(sparse_softmax, vector_epoch(p, 1, alpha, u, order, steps))
EPOCH(dense_softmax, vector_epoch(p, 0, alpha, u, order, steps))
