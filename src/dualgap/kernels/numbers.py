"""Decimal numbers in text, correctly rounded.

A number is m 10^e with an integer m of at most 19 digits, so that m fits 64 bits.

a. For m <= 2^53 and |e| <= 22 both m and 10^|e| are floats, and one multiplication or division rounds once.
b. Otherwise let T be the first 128 bits of 5^e, rounded down, and w be m shifted to the top of 64 bits. The first 128 bits of w T are
   below the true product by less than two units of the last of them, so that the nearest float is known unless the product is as near as
   that to the middle between two.
c. What is left (a tie, more than 19 digits, a subnormal or an overflow) is marked SLOW and left to Python's `float`.

Text is read eight bytes at a time, so there must be eight of anything behind its last line end.
"""

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from dualgap.kernels.compile import exact_jitable

FINE, SLOW, WRONG = 0, 1, 2
LEAST, MOST = -325, 308
POWERS = np.array([float(10**e) for e in range(23)])
POWERS_OF_TWO = np.array([2.0**e for e in range(-600, 601)])
WORD = 64
SHORT_POWERS = np.array([10**e for e in range(9)], dtype=np.uint64)
ABOVE, ZEROS, UPPER = (np.uint64(byte * 0x0101010101010101) for byte in (0x46, 0x30, 0x80))
PAIRS, FOURS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
FAR = np.int64(100_000)
NONE, ONE, NINE, TEN, MANY = (np.uint64(k) for k in (0, 1, 9, 10, 19))
PLUS, MINUS, POINT, ZERO, SMALL_E, LARGE_E = (np.uint8(ord(c)) for c in "+-.0eE")


def _first_bits(e: int) -> tuple[int, int]:
    """The first 128 bits of 5^e, and the power of two they are to be multiplied with."""
    if e >= 0:
        power = 5**e
        shift = power.bit_length() - 128
        return (power >> shift if shift >= 0 else power << -shift), shift
    power = 5**-e
    shift = power.bit_length() + 127
    bits = (1 << shift) // power
    if bits.bit_length() > 128:
        bits, shift = bits >> 1, shift - 1
    return bits, -shift


def _tables() -> tuple[Any, Any, Any]:
    """High and low words of the first bits of 5^e for e from LEAST on, and the exponents of 2 of m 10^e."""
    parts = [(*_first_bits(e), e) for e in range(LEAST, MOST + 1)]
    high = np.array([bits >> WORD for bits, _, _ in parts], dtype=np.uint64)
    low = np.array([bits & (2**WORD - 1) for bits, _, _ in parts], dtype=np.uint64)
    return high, low, np.array([shift + e for _, shift, e in parts], dtype=np.int64)


HIGH, LOW, SHIFT = _tables()


@intrinsic  # type: ignore[untyped-decorator]
def high_word(_typingctx: Any, _a: Any, _b: Any) -> Any:
    """The upper half of the product of two 64-bit words."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        wide = ir.IntType(2 * WORD)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, WORD)), ir.IntType(WORD))

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def leading_zeros(_typingctx: Any, _a: Any) -> Any:
    """The number of leading zero bits of a 64-bit word that is not 0."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def trailing_zeros(_typingctx: Any, _a: Any) -> Any:
    """The number of trailing zero bits of a 64-bit word."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def eight_bytes(_typingctx: Any, text: Any, at: Any) -> Any:
    """Eight bytes of text as a word, the first one lowest."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        word = ir.IntType(WORD)
        value = builder.load(builder.bitcast(builder.gep(data, [args[1]]), word.as_pointer()), align=1)
        return value if sys.byteorder == "little" else builder.bswap(value)

    return types.uint64(text, at), codegen


@exact_jitable
def digit(c: Any) -> Any:
    """The value of a digit; more than 9 for any other character."""
    return np.uint64(np.uint8(c - np.uint8(48)))


@exact_jitable
def digits(text: Any, at: Any) -> Any:
    """How many of the eight bytes from a position on are digits, up to the first that is none, and the number they are.

    Bytes above "9" are found by adding 0x46, those below "0" by the borrow of a subtraction: either sets the upper bit, as do bytes that
    have it. What comes behind the first such byte may be wrong. Then neighbours are joined, to numbers of 2, 4 and 8 digits.
    """
    word = eight_bytes(text, at)
    others = ((word + ABOVE) | (word - ZEROS) | word) & UPPER
    count = trailing_zeros(others) >> np.uint64(3)
    if count == NONE:
        return count, count
    word = (word - ZEROS) << (np.uint64(WORD) - (count << np.uint64(3)))
    word = (word * TEN + (word >> np.uint64(8))) & PAIRS
    word = (word * np.uint64(100) + (word >> np.uint64(16))) & FOURS
    return count, (word * np.uint64(10_000) + (word >> np.uint64(32))) & np.uint64(0xFFFFFFFF)


@exact_jitable
def rounded(m: Any, e: Any) -> Any:
    """The float nearest to m 10^e, and whether it could be found."""
    if m <= np.uint64(1 << 53) and -22 <= e <= 22:
        return (float(m) * POWERS[e] if e >= 0 else float(m) / POWERS[-e]), FINE
    if m == np.uint64(0):
        return 0.0, FINE
    if e < LEAST or e > MOST:
        return 0.0, SLOW
    lead = leading_zeros(m)
    w = m << lead
    top, bottom = HIGH[e - LEAST], LOW[e - LEAST]
    high, middle = high_word(w, top), w * top
    carried = middle + high_word(w, bottom)
    if carried < middle:
        high += np.uint64(1)
    drop = np.uint64(10) + (high >> np.uint64(63))
    mantissa = high >> drop
    rest = high & ((np.uint64(1) << drop) - np.uint64(1))
    half = np.uint64(1) << (drop - np.uint64(1))
    # the true rest lies less than two units of `carried` above what is known of it
    if rest == half - np.uint64(1) and carried >= np.uint64(0xFFFFFFFFFFFFFFFE):
        return 0.0, SLOW
    if rest == half and carried == np.uint64(0):
        return 0.0, SLOW
    if rest >= half:
        mantissa += np.uint64(1)
    exponent = SHIFT[e - LEAST] + 2 * WORD - np.int64(lead) + np.int64(drop)
    if exponent < -1022 - 52 or exponent > 1023 - 53:
        return 0.0, SLOW
    # two factors, since 2^exponent alone may be no normal number
    return float(mantissa) * POWERS_OF_TWO[exponent // 2 + 600] * POWERS_OF_TWO[exponent - exponent // 2 + 600], FINE


@exact_jitable
def more_digits(text: Any, p: Any, m: Any) -> Any:
    """m with the digits from a position on appended, and where they end."""
    count, part = digits(text, p)
    m = m * SHORT_POWERS[count] + part
    p += count
    while count == np.uint64(8):
        count, part = digits(text, p)
        m = m * SHORT_POWERS[count] + part
        p += count
    return m, p


@exact_jitable
def number(text: Any, at: Any) -> Any:
    """The number that begins at a position, where it ends, and whether it is FINE, SLOW or WRONG; an end there is where it went wrong."""
    p = at
    negative = text[p] == MINUS
    if negative or text[p] == PLUS:
        p += ONE
    begin = p
    m = np.uint64(0)
    m = digit(text[p])
    if m <= NINE and digit(text[p + ONE]) > NINE:
        # by far the most frequent, and a branch that is foreseen is faster than a position that has to be computed
        p += ONE
    else:
        m, p = more_digits(text, p, NONE)
    count = p - begin
    e = np.int64(0)
    if text[p] == POINT:
        p += ONE
        point = p
        m, p = more_digits(text, p, m)
        count += p - point
        e = -np.int64(p - point)
    if count == NONE:
        return 0.0, p, WRONG
    if text[p] == SMALL_E or text[p] == LARGE_E:
        p += ONE
        down = text[p] == MINUS
        if down or text[p] == PLUS:
            p += ONE
        if digit(text[p]) > NINE:
            return 0.0, p, WRONG
        power = np.int64(0)
        while digit(text[p]) <= NINE:
            power = min(10 * power + np.int64(digit(text[p])), FAR)
            p += ONE
        e += -power if down else power
    if count > MANY and significant(text, begin, p) > MANY:
        return 0.0, p, SLOW
    value, kind = rounded(m, e)
    return (-value if negative else value), p, kind


@exact_jitable
def significant(text: Any, p: Any, end: Any) -> Any:
    """The number of digits of a mantissa, zeros in front not counted."""
    digits = np.uint64(0)
    while p < end and text[p] != SMALL_E and text[p] != LARGE_E:
        if text[p] != POINT and (digits > NONE or text[p] != ZERO):
            digits += ONE
        p += ONE
    return digits
