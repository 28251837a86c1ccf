package main

// newerCodes are codes of the 9.0 engine and what 8.0 answers.
var newerCodes = map[int32]int32{
	10503902: 51744, 10503903: 51745, 10503904: 51746, // $replaceOne, $replaceAll: replacement, find, input
	9711600: 40096, 9711601: 40097, // $indexOfArray: the start's type, its sign
	12109300: 40105, // $graphLookup without what it needs
	8745900:  40400, // $mergeObjects in $bucketAuto
}

// olderCode returns the code of 8.0 for one of the 9.0 engine.
func olderCode(code any) any {
	n, _ := code.(int32)
	if older, isNew := newerCodes[n]; isNew {
		return older
	}
	return code
}

// engineFault is the code of an internal error of the 9.0 alpha engine: a comparison with a symbol on an indexed field. It is no
// answer that another server could give.
const engineFault = 4457011
