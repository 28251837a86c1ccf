package expr

// knownOperators are the operators of MongoDB 8.0 that Sheaf recognises and does not evaluate yet, by family.
func knownOperators() []definition {
	families := []struct {
		family string
		names  []string
	}{
		{"array", []string{"$firstN", "$lastN", "$minN", "$maxN", "$sortArray", "$zip"}},
		{"string", []string{"$regexFind", "$regexFindAll", "$regexMatch"}},
		{"date", []string{
			"$dateAdd", "$dateDiff", "$dateFromParts", "$dateFromString", "$dateSubtract", "$dateToParts", "$dateToString",
			"$dateTrunc", "$dayOfMonth", "$dayOfWeek", "$dayOfYear", "$hour", "$isoDayOfWeek", "$isoWeek", "$isoWeekYear",
			"$millisecond", "$minute", "$month", "$second", "$week", "$year", "$tsIncrement", "$tsSecond",
		}},
		{"conversion", []string{
			"$convert", "$toBool", "$toDate", "$toDecimal", "$toDouble", "$toInt", "$toLong", "$toObjectId", "$toString", "$toUUID",
		}},
		{"accumulator", []string{"$median", "$percentile"}},
		{"miscellaneous", []string{"$sampleRate", "$toHashedIndexKey"}},
	}
	var defs []definition
	for _, f := range families {
		for _, name := range f.names {
			defs = append(defs, definition{name: name, family: f.family})
		}
	}
	return defs
}
