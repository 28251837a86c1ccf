package index

import "github.com/sheafdb/sheaf/internal/feature"

func orderedDefinition() Definition {
	return Definition{
		Title: "ascending and descending", Compile: compileOrdered,
		Properties: Properties{
			ByPaths: feature.Yes, Bounded: feature.Yes, Equality: feature.Yes,
			Unique: feature.Yes, ArrayPaths: feature.Yes,
			Geo: feature.No, JoinsValues: feature.No, StableAPI: feature.Yes,
			Collation: feature.Yes, AllPaths: feature.No, Several: feature.Yes,
			Series: OnMeasurements,
		},
	}
}

func compileOrdered(s Spec) (Pattern, Generator, error) {
	p := fieldsOf(s.Key)
	return p, NewKeyGen(p, s.Sparse, s.Collation), nil
}
