package concurrencytest

import (
	"fmt"
	"slices"
	"testing"
)

// listTxn is a recorded transaction. It has read whole lists, and appended unique values.
type listTxn struct {
	ops       []listOp
	committed bool
}

type listOp struct {
	key    int
	isRead bool
	read   []int64
	value  int64 // the appended value
}

// place is the position of a value: the key of its list, and its index in the list.
type place struct {
	key, at int
}

// listHistory is a history of transactions. The final lists show in which order values were
// appended to each list.
type listHistory struct {
	txns     []*listTxn
	final    [][]int64
	writer   map[int64]int // number of the transaction that appended a value, by the value
	at       map[int64]place
	problems []string
}

// checkHistory returns the anomalies of a history that snapshot isolation excludes:
//
//   - lost or doubled appends, and appends of aborted transactions that were seen (G1a)
//   - a read that is not a prefix of the final list followed by the transaction's own appends, or
//     that has only a part of another transaction's appends (G1b)
//   - a transaction that reads a list again and sees another state
//   - an append that does not follow the values that the transaction has read (lost update)
//   - a cycle of transactions ordered by their writes and reads (G0, G1c), also if one of them has
//     missed a write of another one (G-single: read skew)
func checkHistory(txns []*listTxn, final [][]int64) []string {
	h := &listHistory{txns: txns, final: final, writer: map[int64]int{}, at: map[int64]place{}}
	for i, txn := range txns {
		for _, op := range txn.ops {
			if !op.isRead {
				h.writer[op.value] = i
			}
		}
	}
	h.checkFinal()
	for i := range txns {
		if txns[i].committed {
			h.checkTxn(i)
		}
	}
	if len(h.problems) == 0 {
		h.checkCircles()
	}
	return h.problems
}

func (h *listHistory) report(format string, args ...any) {
	h.problems = append(h.problems, fmt.Sprintf(format, args...))
}

func (h *listHistory) checkFinal() {
	for key, list := range h.final {
		for at, value := range list {
			if _, twice := h.at[value]; twice {
				h.report("the value %d is there twice", value)
			}
			h.at[value] = place{key, at}
			if w, known := h.writer[value]; !known || !h.txns[w].committed {
				h.report("the value %d of list %d was not committed", value, key)
			}
		}
	}
	for _, txn := range h.txns {
		for _, op := range txn.ops {
			if _, there := h.at[op.value]; txn.committed && !op.isRead && !there {
				h.report("the value %d was committed and is lost", op.value)
			}
		}
	}
}

// checkTxn checks the reads of a committed transaction against its snapshot. The first read of each
// list shows how long the list is in the snapshot.
func (h *listHistory) checkTxn(i int) {
	own := map[int][]int64{}
	seen := map[int]int{}
	for _, op := range h.txns[i].ops {
		if !op.isRead {
			own[op.key] = append(own[op.key], op.value)
			if n, read := seen[op.key]; read && h.at[op.value].at != n+len(own[op.key])-1 {
				h.report("transaction %d has read %d values of list %d, and its append is number %d", i, n, op.key, h.at[op.value].at)
			}
			continue
		}
		n := len(op.read) - len(own[op.key])
		if n < 0 || n > len(h.final[op.key]) || !slices.Equal(op.read[:n], h.final[op.key][:n]) ||
			!slices.Equal(op.read[n:], own[op.key]) {
			h.report("transaction %d read %v of list %d, which is %v, after its own %v", i, op.read, op.key, h.final[op.key], own[op.key])
			return
		}
		if before, read := seen[op.key]; read && before != n {
			h.report("transaction %d read list %d with %d values and then with %d", i, op.key, before, n)
		}
		seen[op.key] = n
		if n > 0 && n < len(h.final[op.key]) && h.writer[h.final[op.key][n]] == h.writer[h.final[op.key][n-1]] &&
			h.writer[h.final[op.key][n]] != i {
			h.report("transaction %d has read a part of what another one appended to list %d", i, op.key)
		}
	}
}

// checkCircles looks for cycles of transactions, which snapshot isolation excludes.
func (h *listHistory) checkCircles() {
	follows := make([][]int, len(h.txns)) // for each transaction, the transactions that certainly come after it
	type edge struct{ from, to int }
	var overlooked []edge
	for _, list := range h.final {
		for at := 1; at < len(list); at++ {
			if a, b := h.writer[list[at-1]], h.writer[list[at]]; a != b {
				follows[a] = append(follows[a], b)
			}
		}
	}
	for i, txn := range h.txns {
		own := map[int]int{}
		for _, op := range txn.ops {
			switch n := len(op.read) - own[op.key]; {
			case !op.isRead:
				own[op.key]++
			case !txn.committed:
			default:
				if n > 0 {
					follows[h.writer[op.read[n-1]]] = append(follows[h.writer[op.read[n-1]]], i)
				}
				if n < len(h.final[op.key]) && h.writer[h.final[op.key][n]] != i {
					overlooked = append(overlooked, edge{i, h.writer[h.final[op.key][n]]})
				}
			}
		}
	}
	for i := range h.txns {
		if reaches(follows, i, i) {
			h.report("transaction %d follows itself", i)
			return
		}
	}
	for _, e := range overlooked {
		if reaches(follows, e.to, e.from) {
			h.report("transaction %d has not seen what %d wrote, though it follows it", e.from, e.to)
			return
		}
	}
}

// reaches reports whether a path of at least one step leads from one transaction to another.
func reaches(next [][]int, from, to int) bool {
	seen := make([]bool, len(next))
	stack := slices.Clone(next[from])
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if i == to {
			return true
		}
		if !seen[i] {
			seen[i] = true
			stack = append(stack, next[i]...)
		}
	}
	return false
}

// TestCheckHistory checks that the checker finds each anomaly, and accepts histories that snapshot
// isolation allows.
func TestCheckHistory(t *testing.T) {
	read := func(key int, values ...int64) listOp { return listOp{key: key, isRead: true, read: values} }
	add := func(key int, value int64) listOp { return listOp{key: key, value: value} }
	done := func(ops ...listOp) *listTxn { return &listTxn{ops: ops, committed: true} }
	gone := func(ops ...listOp) *listTxn { return &listTxn{ops: ops} }
	for name, c := range map[string]struct {
		final [][]int64
		txns  []*listTxn
		bad   bool
	}{
		"serial": {
			[][]int64{{1, 2}, {3}},
			[]*listTxn{done(add(0, 1)), done(read(0, 1), add(0, 2)), done(add(1, 3), read(1, 3))},
			false,
		},
		"aborted":      {[][]int64{{1}, nil}, []*listTxn{done(add(0, 1)), gone(add(0, 2), read(0, 1, 2))}, false},
		"write skew":   {[][]int64{{1}, {2}}, []*listTxn{done(read(0), add(1, 2)), done(read(1), add(0, 1))}, false},
		"aborted seen": {[][]int64{{1}, nil}, []*listTxn{gone(add(0, 1))}, true},
		"aborted read": {[][]int64{nil, nil}, []*listTxn{gone(add(0, 1)), done(read(0, 1))}, true},
		"lost":         {[][]int64{{1}, nil}, []*listTxn{done(add(0, 1)), done(add(0, 2))}, true},
		"lost update":  {[][]int64{{1, 2}, nil}, []*listTxn{done(read(0), add(0, 1)), done(read(0), add(0, 2))}, true},
		"part":         {[][]int64{{1, 2}, nil}, []*listTxn{done(add(0, 1), add(0, 2)), done(read(0, 1))}, true},
		"own not read": {[][]int64{{1}, nil}, []*listTxn{done(add(0, 1), read(0))}, true},
		"not repeated": {[][]int64{{1}, nil}, []*listTxn{done(add(0, 1)), done(read(0), read(0, 1))}, true},
		"read skew":    {[][]int64{{1}, {2}}, []*listTxn{done(add(0, 1), add(1, 2)), done(read(0), read(1, 2))}, true},
		"write cycle": {
			[][]int64{{1, 2}, {4, 3}},
			[]*listTxn{done(add(0, 1), add(1, 3)), done(add(0, 2), add(1, 4))},
			true,
		},
		"information flow": {
			[][]int64{{1}, {2}},
			[]*listTxn{done(add(0, 1), read(1, 2)), done(add(1, 2), read(0, 1))},
			true,
		},
		"long read skew": {
			[][]int64{{1}, {2, 3}},
			[]*listTxn{done(add(0, 1), add(1, 2)), done(read(1, 2), add(1, 3)), done(read(0), read(1, 2, 3))},
			true,
		},
	} {
		if problems := checkHistory(c.txns, c.final); len(problems) > 0 != c.bad {
			t.Errorf("%s: %q", name, problems)
		}
	}
}
