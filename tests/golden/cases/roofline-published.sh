# The released SOL times come back from the released W and Q, line by line.
"$ROOFMARK" roofline --operator rms_norm --shape 0 --device H20 --published --json
"$ROOFMARK" roofline --operator rms_norm --shape 0 --device XPU-A --published --json
