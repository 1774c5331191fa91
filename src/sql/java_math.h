/* Elementary functions with the last bit of java.lang.Math. Private to sql/. */
#ifndef TL_SQL_JAVA_MATH_H
#define TL_SQL_JAVA_MATH_H

#include <stdint.h>

double tl_java_log10(double x);
double tl_java_acos(double x);
double tl_java_asin(double x);
double tl_java_atan(double x);
double tl_java_atan2(double y, double x);
double tl_java_sinh(double x);
double tl_java_cosh(double x);
double tl_java_tanh(double x);

#endif
