# SPDX-License-Identifier: Apache-2.0
# The admission programs of production-1 under regime typical.
exec bash "$(dirname "$0")/../lint_suite.sh" typical
