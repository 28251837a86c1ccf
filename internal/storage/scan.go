package storage

// Scan calls fn for the pairs in [lower, upper) in the order of their keys. fn must not keep keys
// and values after it returns. An error of fn ends the scan.
func Scan(r Reader, lower, upper []byte, fn func(key, value []byte) error) error {
	it, err := r.NewIter(lower, upper)
	if err != nil {
		return err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.Value()
		if err != nil {
			return err
		}
		if err := fn(it.Key(), value); err != nil {
			return err
		}
	}
	return it.Err()
}
