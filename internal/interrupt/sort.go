package interrupt

import "slices"

// run is the number of values that are sorted between two checks of the operation.
const run = 1 << 10

// Sort sorts values like slices.SortStableFunc. It fails if the operation ends, and the order is
// undefined then. cost is the work of one comparison.
func Sort[T any](values []T, cost int, compare func(a, b T) int, m *Meter, r *Running) error {
	for start := 0; start < len(values); start += run {
		part := values[start:min(start+run, len(values))]
		slices.SortStableFunc(part, compare)
		if err := m.Did(len(part)*10*cost, r); err != nil {
			return err
		}
	}
	if len(values) <= run {
		return nil
	}
	return merge(values, cost, compare, m, r)
}

// quick is the number of values that SortUnstable sorts without checking the operation.
const quick = 1 << 14

// SortUnstable sorts values like slices.SortFunc, in place. It fails if the operation ends, and the
// order is undefined then. cost is the work of one comparison.
func SortUnstable[T any](values []T, cost int, compare func(a, b T) int, m *Meter, r *Running) error {
	if len(values) <= quick {
		slices.SortFunc(values, compare)
		return m.Did(len(values)*cost, r)
	}
	var ended error
	slices.SortFunc(values, func(a, b T) int {
		if ended == nil {
			ended = m.Did(cost, r)
		}
		if ended != nil {
			return 0 // the sort cannot be stopped, but ends soon if all values are equal
		}
		return compare(a, b)
	})
	return ended
}

// Compact replaces runs of equal values by their first value, in place, like slices.CompactFunc. It
// fails if the operation ends, and the values are undefined then. cost is the work of one
// comparison.
func Compact[T any](values []T, cost int, equal func(a, b T) bool, m *Meter, r *Running) ([]T, error) {
	kept := values[:0]
	for i, v := range values {
		if err := m.Did(cost, r); err != nil {
			return nil, err
		}
		if i == 0 || !equal(kept[len(kept)-1], v) {
			kept = append(kept, v)
		}
	}
	return kept, nil
}

// merge joins sorted runs pair by pair.
func merge[T any](values []T, cost int, compare func(a, b T) int, m *Meter, r *Running) error {
	from, to := values, make([]T, len(values))
	for size := run; size < len(values); size *= 2 {
		for start := 0; start < len(values); start += 2 * size {
			mid, end := min(start+size, len(values)), min(start+2*size, len(values))
			if err := join(to[start:end], from[start:mid], from[mid:end], cost, compare, m, r); err != nil {
				return err
			}
		}
		from, to = to, from
	}
	if &from[0] != &values[0] {
		copy(values, from)
	}
	return nil
}

// join merges two sorted parts into dst. If values are equal, the value of a comes first.
func join[T any](dst, a, b []T, cost int, compare func(a, b T) int, m *Meter, r *Running) error {
	for n := 0; len(a) > 0 && len(b) > 0; n++ {
		if compare(a[0], b[0]) <= 0 {
			dst[n], a = a[0], a[1:]
		} else {
			dst[n], b = b[0], b[1:]
		}
		if err := m.Did(cost, r); err != nil {
			return err
		}
	}
	rest := len(a) + len(b)
	copy(dst[len(dst)-rest:], a)
	copy(dst[len(dst)-len(b):], b)
	return nil
}
