# What the speed of light is, and what binds, on a real card.
"$ROOFMARK" roofline --operator rms_norm,block_scaled_mm --shape 0,1 --device H200
