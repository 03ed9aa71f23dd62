# Every verb explains itself, with an example.
"$ROOFMARK" mine --help
"$ROOFMARK" suite --help
"$ROOFMARK" roofline --help
"$ROOFMARK" calibrate --help
"$ROOFMARK" pack --help
"$ROOFMARK" check --help
"$ROOFMARK" judge --help
"$ROOFMARK" score --help
"$ROOFMARK" report --help
"$ROOFMARK" optimize --help
"$ROOFMARK" doctor --help
