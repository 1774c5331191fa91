/*
 * Functions whose last bit must be that of java.lang.Math, which takes most of them from fdlibm: the C library's are as near
 * to the truth, but round other values up. The formulas and coefficients are those of fdlibm's description.
 */
#include <math.h>
#include <string.h>

#include "sql/java_math.h"

static const double half_pi_high = 0x1.921fb54442d18p+0, half_pi_low = 0x1.1a62633145c07p-54;

/** (asin(x) - x) / x for x² = z up to 1/4: a rational approximation. */
static double arc_rest(double z)
{
    static const double p[] = {1.66666666666666657415e-01,  -3.25565818622400915405e-01, 2.01212532134862925881e-01,
                               -4.00555345006794114027e-02, 7.91534994289814532176e-04,  3.47933107596021167570e-05};
    static const double q[] = {1.0, -2.40339491173441421878e+00, 2.02094576023350569471e+00, -6.88283971605453293030e-01, 7.70381505559019352791e-02};
    double num = p[5], den = q[4];
    for (int i = 4; i >= 0; i--)
        num = p[i] + z * num;
    for (int i = 3; i >= 0; i--)
        den = q[i] + z * den;
    return z * num / den;
}

/** The high half of the bits alone. */
static double high_word(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    bits &= 0xffffffff00000000u;
    memcpy(&x, &bits, 8);
    return x;
}

double tl_java_log10(double x)
{
    return (double)log10l(x);
}

double tl_java_acos(double x)
{
    double a = fabs(x);
    if (!(a < 1.0))
        return x == 1.0 ? 0.0 : x == -1.0 ? 2 * half_pi_high + 0x1p-120 : (double)NAN;
    if (a < 0.5)
        return a < 0x1p-57 ? half_pi_high + half_pi_low : half_pi_high - (x - (half_pi_low - x * arc_rest(x * x)));
    double z = (1.0 - a) * 0.5, s = sqrt(z), r = arc_rest(z);
    if (x < 0)
        return 2 * half_pi_high - 2.0 * (s + (r * s - half_pi_low));
    double high = high_word(s), correction = (z - high * high) / (s + high);
    return 2.0 * (high + (r * s + correction));
}

double tl_java_asin(double x)
{
    double a = fabs(x);
    if (!(a < 1.0))
        return a == 1.0 ? x * half_pi_high + x * half_pi_low : (double)NAN;
    if (a < 0.5)
        return a < 0x1p-27 ? x : x + x * arc_rest(x * x);
    double z = (1.0 - a) * 0.5, s = sqrt(z), r = arc_rest(z), result;
    if (a >= 0.975) {
        result = half_pi_high - (2.0 * (s + s * r) - half_pi_low);
    } else {
        double high = high_word(s), correction = (z - high * high) / (s + high), quarter = half_pi_high / 2;
        result = quarter - ((2.0 * s * r - (half_pi_low - 2.0 * correction)) - (quarter - 2.0 * high));
    }
    return x < 0 ? -result : result;
}

/** e^x for x from 0 to 709. */
static double fdlibm_exp(double x)
{
    static const double p[] = {1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05, -1.65339022054652515390e-06,
                               4.13813679705723846039e-08};
    static const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    int steps = x < 1.5 * M_LN2 ? x > 0.5 * M_LN2 : (int)(x / M_LN2 + 0.5);
    double high = x - steps * ln2_high, low = steps * ln2_low, r = high - low, z = r * r, c = p[4];
    for (int i = 3; i >= 0; i--)
        c = p[i] + z * c;
    c = r - z * c;
    if (steps == 0)
        return 1.0 - ((r * c) / (c - 2.0) - r);
    return ldexp(1.0 - ((low - (r * c) / (2.0 - c)) - high), steps);
}

double tl_java_sinh(double x)
{
    double a = fabs(x), h = x < 0 ? -0.5 : 0.5;
    if (a < 22) {
        if (a < 0x1p-28)
            return x;
        double t = expm1(a);
        return a < 1 ? h * (2.0 * t - t * t / (t + 1.0)) : h * (t + t / (t + 1.0));
    }
    if (a < 709.78)
        return h * fdlibm_exp(a);
    double w = fdlibm_exp(0.5 * a);
    return h * w * w;
}

double tl_java_cosh(double x)
{
    double a = fabs(x);
    if (a < 0.5 * M_LN2) {
        double t = expm1(a), w = 1.0 + t;
        return a < 0x1p-55 ? w : 1.0 + t * t / (w + w);
    }
    if (a < 22) {
        double t = fdlibm_exp(a);
        return 0.5 * t + 0.5 / t;
    }
    if (a < 709.78)
        return 0.5 * fdlibm_exp(a);
    double w = fdlibm_exp(0.5 * a);
    return 0.5 * w * w;
}

double tl_java_tanh(double x)
{
    double a = fabs(x), z;
    if (isnan(x))
        return x;
    if (a >= 22)
        z = 1.0;
    else if (a < 0x1p-55)
        return x;
    else if (a >= 1)
        z = 1.0 - 2.0 / (expm1(2.0 * a) + 2.0);
    else {
        double t = expm1(-2.0 * a);
        z = -t / (t + 2.0);
    }
    return x < 0 ? -z : z;
}
