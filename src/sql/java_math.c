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

double tl_java_atan(double x)
{
    /* arctan of 1/2, 1, 3/2 and infinity, and what their doubles lack */
    static const double of[] = {4.63647609000806093515e-01, 7.85398163397448278999e-01, 9.82793723247329054082e-01, 1.57079632679489655800e+00};
    static const double of_low[] = {2.26987774529616870924e-17, 3.06161699786838301793e-17, 1.39033110312309984516e-17, 6.12323399573676603587e-17};
    static const double p[] = {3.33333333333329318027e-01,  -1.99999999998764832476e-01, 1.42857142725034663711e-01, -1.11111104054623557880e-01,
                               9.09088713343650656196e-02,  -7.69187620504482999495e-02, 6.66107313738753120669e-02, -5.83357013379057348645e-02,
                               4.97687799461593236017e-02, -3.65315727442169155270e-02, 1.62858201153657823623e-02};
    double a = fabs(x), t = a;
    int near = -1; /* which of the four a is measured from */
    if (isnan(x) || a < 0x1p-29)
        return x;
    if (a >= 0x1p66)
        return x < 0 ? -of[3] - of_low[3] : of[3] + of_low[3];
    if (a >= 2.4375)
        near = 3, t = -1.0 / a;
    else if (a >= 1.1875)
        near = 2, t = (a - 1.5) / (1.0 + 1.5 * a);
    else if (a >= 0.6875)
        near = 1, t = (a - 1.0) / (a + 1.0);
    else if (a >= 0.4375)
        near = 0, t = (2.0 * a - 1.0) / (2.0 + a);
    double z = t * t, w = z * z, even = p[10], odd = p[9];
    for (int i = 8; i >= 0; i -= 2)
        even = p[i] + w * even;
    for (int i = 7; i >= 1; i -= 2)
        odd = p[i] + w * odd;
    double rest = t * (z * even + w * odd), result = near < 0 ? t - rest : of[near] - ((rest - of_low[near]) - t);
    return x < 0 ? -result : result;
}

/** The whole circle: y/x as an angle, by the signs of both. What is 0 or infinite has the C library's answers, which are the same. */
double tl_java_atan2(double y, double x)
{
    static const double pi = 3.1415926535897931160E+00, pi_low = 1.2246467991473531772E-16;
    if (isnan(x) || isnan(y) || x == 0 || y == 0 || isinf(x) || isinf(y))
        return atan2(y, x);
    if (x == 1.0)
        return tl_java_atan(y);
    int steps = ilogb(y) - ilogb(x);
    double z = steps > 60 ? half_pi_high + 0.5 * pi_low : x < 0 && steps < -60 ? 0.0 : tl_java_atan(fabs(y / x));
    if (x > 0)
        return y < 0 ? -z : z;
    return y < 0 ? (z - pi_low) - pi : pi - (z - pi_low);
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
    if (isnan(x) || a > 1400) /* far beyond what a double holds */
        return isnan(x) ? x : h * (double)INFINITY;
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
    if (isnan(x) || a > 1400)
        return isnan(x) ? x : (double)INFINITY;
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
