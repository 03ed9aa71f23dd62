# A verdict is reproduced from the store's archive alone; what was edited since is found.
cp "$DATA/candidates/rms_norm/rms_norm_naive.cc" right.cc
sed 's|^  return 0;|  out[0] = 0;\n&|' right.cc > wrong.cc
printf 'int x' > torn.cc
"$ROOFMARK" judge right.cc wrong.cc torn.cc --operator rms_norm --tier small --shape s-prefill \
  --gate correctness --store s.db > out.txt 2>&1; echo "judged -> $?"
"$ROOFMARK" judge right.cc --operator rms_norm --tier small --shape s-prefill \
  --store s.db --quick > out.txt 2>&1
rm right.cc wrong.cc torn.cc
show() { python3 -c '
import json, sys
for row in map(json.loads, sys.stdin):
    # A measurement of this machine may be unstable; it has to be the same all the same.
    outcome = "measured" if row["verdict"] == 4 else row["outcome"]
    print(row["verdict"], row["candidate"], outcome, row["status"], "ran" if row["ran"] else "not run",
          *[text.split(": ")[0].split(" of the")[0][-70:] for text in row["differences"]], *row["notes"])' | sort; }
"$ROOFMARK" judge --regrade all --store s.db --json > out.json 2> /dev/null; echo "all -> $?"; show < out.json
"$ROOFMARK" judge --regrade 4 --no-run --store s.db --json > out.json; echo "4 -> $?"; show < out.json
"$ROOFMARK" judge --regrade 9 --store s.db; echo "9 -> $?"
"$ROOFMARK" judge --regrade some --store s.db; echo "some -> $?"
edit() { python3 -c 'import sqlite3, sys; d = sqlite3.connect("s.db"); d.execute(sys.argv[1]); d.commit()' "$1"; }
# Someone makes a verdict better, and mends the hash too: what ran again tells.
python3 - << 'PY'
import hashlib, sqlite3
db = sqlite3.connect("s.db")
text, evidence = db.execute("SELECT v.json, e.json FROM verdicts v JOIN evidence e ON e.verdict = v.id WHERE v.id = 2").fetchone()
text = text.replace('"wrong_output"', '"passed"')
sha = hashlib.sha256((text + "\n\n" + evidence).encode()).hexdigest()
db.execute("UPDATE verdicts SET json = ? WHERE id = 2", (text,))
db.execute("UPDATE evidence SET sha256 = ? WHERE verdict = 2", (sha,))
db.commit()
PY
"$ROOFMARK" judge --regrade 2 --store s.db --json > out.json 2> /dev/null; echo "bettered -> $?"; show < out.json
edit "UPDATE samples SET samples_ns = replace(samples_ns, '[', '[1,')"
"$ROOFMARK" judge --regrade 4 --no-run --store s.db --json > out.json; echo "samples -> $?"; show < out.json
# One byte of the archived source of `right`.
python3 -c '
import hashlib, os, sys
text = open(os.environ["DATA"] + "/candidates/rms_norm/rms_norm_naive.cc", "rb").read()
sha = hashlib.sha256(text).hexdigest()
path = f"s.db.objects/{sha[:2]}/{sha}"
open(path, "wb").write(text[:-2] + bytes([text[-2] ^ 1]) + text[-1:])'
"$ROOFMARK" judge --regrade 1 --store s.db --json > out.json 2> /dev/null; echo "flipped -> $?"; show < out.json
