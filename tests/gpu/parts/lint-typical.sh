# SPDX-License-Identifier: Apache-2.0
# The admission programs of production-1 under regime typical: honest ones pass, wrong ones do not.
exec bash "$(dirname "$0")/../lint_suite.sh" typical
