package expr

// knownOperators are the operators of MongoDB 8.0 that Sheaf recognises and does not evaluate yet, by family.
func knownOperators() []definition {
	families := []struct {
		family string
		names  []string
	}{
		{"conversion", []string{
			"$convert", "$toBool", "$toDate", "$toDecimal", "$toDouble", "$toInt", "$toLong", "$toObjectId", "$toString", "$toUUID",
		}},
	}
	var defs []definition
	for _, f := range families {
		for _, name := range f.names {
			defs = append(defs, definition{name: name, family: f.family})
		}
	}
	return defs
}
