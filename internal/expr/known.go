package expr

// knownOperators are the operators of MongoDB 8.0 that Sheaf recognises and does not evaluate yet.
func knownOperators() []definition {
	return nil
}
