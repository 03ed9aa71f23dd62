# The first thing that a newcomer types.
"$ROOFMARK" --help
