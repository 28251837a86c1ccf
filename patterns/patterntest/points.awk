# Reads the output of `go test -v`, and after it a line "exit" with the status of go test. Prints
# how many operations of each package were stopped, and at how many points. An operation that exists
# in several designs, or with and without transactions, counts once for each. Fails if a test or
# go test failed, or if no operation was stopped.
BEGIN {
	status = 1 # until the last line is read
	printf "| package | operations | crash points |\n|---|---|---|\n"
}
$1 == "===" && $2 == "ATTR" && $4 == "crashpoints" { operations++; points += $5 }
$1 == "ok" && operations {
	sub(/^.*\/patterns\//, "", $2)
	printf "| %s | %d | %d |\n", $2, operations, points
	packages++
	all += operations
	total += points
	operations = points = 0
}
/^ *--- FAIL|^FAIL|^panic:/ { print > "/dev/stderr"; failed = 1 }
$1 == "exit" && NF == 2 { status = $2 }
$1 == "FAIL" && NF > 1 { operations = points = 0 }
END {
	printf "| %d packages | %d | %d |\n", packages, all, total
	exit failed || status != 0 || packages == 0
}
