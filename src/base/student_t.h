// SPDX-License-Identifier: Apache-2.0
// Student's t, for intervals of what is known from few.
#pragma once

namespace roofmark {

// The t quantile for a two-sided 95 % interval; between the table's whole degrees of freedom it is
// interpolated in their inverse. Requires: at least 1.
// Source: NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.6.7.2.
double StudentT95(double degrees_of_freedom);

}  // namespace roofmark
