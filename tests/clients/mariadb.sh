#!/bin/bash
# The command line of MariaDB: mariadb.sh [OPTION…] PORT TABLE PID; options such as --safe-updates are passed on.
# All statements of a check are one session, which goes on after an error (--force).
set -uo pipefail
options=("${@:1:$#-3}")
port=${*: -3:1} table=${*: -2:1} mirror=${*: -1}
rows=$(dirname "$0")/expected.tsv
passed=0 failed=0

# session : carries out the statements of the standard input; rows as lines of cells between tabs.
session() {
  timeout 30 mariadb --no-defaults "${options[@]}" --host=127.0.0.1 --port="$port" --user=any --password=secret \
    --batch --raw --skip-column-names --force shop 2>&1
}

# verdict NAME WANTED FOUND : prints whether they are equal.
verdict() {
  if [[ $2 == "$3" ]]; then
    passed=$((passed + 1))
    echo "ok $1"
  else
    failed=$((failed + 1))
    echo "FAILED $1: $(diff <(echo "$2") <(echo "$3") | head -c 600 | tr '\n' ' ')"
  fi
}

# check NAME WANTED <STATEMENTS : prints whether the output of a session is WANTED.
check() { verdict "$1" "$2" "$(session)"; }

# expected COLUMN… : these columns of the expected rows.
expected() { tail -n +2 "$rows" | cut -f"$(IFS=,; echo "$*")"; }
columns=$(head -1 "$rows" | sed 's/:[a-z]*//g; s/\t/, /g')
of_brand="FROM $table WHERE brand = 'Ironwood' ORDER BY id ASC"
first=$(expected 1 | head -1)

check connect shop <<<"SELECT DATABASE();"
check types "$(expected 1 2 3 5 6 7 8 9)" <<<"SELECT ${columns/rating, /} $of_brand;"
# Servers print floats with six decimals, or with as few as needed.
verdict floats "$(expected 4 | xargs printf '%.6f ')" "$(session <<<"SELECT rating $of_brand;" | xargs printf '%.6f ')"
check pages "$(expected 1 2; expected 1 | wc -l)" <<END
SELECT id, title $of_brand LIMIT 4;
SELECT id, title $of_brand LIMIT 4 OFFSET 4;
SELECT id, title $of_brand LIMIT 8, 4;
SELECT COUNT(*) FROM $table WHERE brand = 'Ironwood';
END
found=$(session <<END
SELECT nothing FROM $table;
SELECT id FROM nosuch;
SELEC id;
SELECT id FROM $table WHERE id = $first;
END
)
# The statement and its error are several lines: the code of each error, and the row, are compared.
codes=$(grep -oE '^ERROR [0-9]+|^[0-9]+$' <<<"$found" | sed 's/ERROR //; s/1054/1064/' | xargs)
verdict error "1064 1146 1064 $first" "$codes"
select="SELECT title, price, stock FROM $table WHERE id = 5001;"
check change $'Größe "M", it\'s 5\\6\t7\t-5\n8\n0' <<END
BEGIN;
INSERT INTO $table (id, title, price, rating, brand, stock) VALUES (5001, 'Größe "M", it\'s 5\\\\6', 7, 2.5, 'Zest', -5);
COMMIT;
$select
UPDATE $table SET price = 8 WHERE id = 5001;
SELECT price FROM $table WHERE id = 5001;
DELETE FROM $table WHERE id = 5001;
SELECT COUNT(*) FROM $table WHERE id = 5001;
END
check mirror "$(for _ in {1..40}; do expected 1 2; done)" < <(
  for turn in {1..40}; do
    echo "SELECT id, title $of_brand;"
    ((turn != 10)) || echo "\\! kill -9 $mirror"
  done)
echo "$passed passed, $failed failed"
((failed == 0))
