# A mistake on the command line says what is wrong and ends in 2; a bad input ends in 3.
"$ROOFMARK"; echo "-> $?"
"$ROOFMARK" jugde x.cu; echo "-> $?"
"$ROOFMARK" judge; echo "-> $?"
"$ROOFMARK" judge x.cu --operator rms_norm --sanitize; echo "-> $?"
"$ROOFMARK" roofline --device H2000; echo "-> $?"
"$ROOFMARK" roofline --device H200 --operator rms_nrom; echo "-> $?"
"$ROOFMARK" judge missing.cc --operator rms_norm; echo "-> $?"
