package index

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

func hashedDefinition() Definition {
	return Definition{
		Name: "hashed", Compile: compileImages, Image: hashImage,
		Properties: Properties{
			ByPaths: feature.Yes, Bounded: feature.Yes, Equality: feature.Yes,
			Unique: feature.No, ArrayPaths: feature.No,
			Geo: feature.No, JoinsValues: feature.No, StableAPI: feature.Yes,
			Collation: feature.Yes, AllPaths: feature.No, Several: feature.Yes,
			Series: OnMeta,
		},
	}
}

// hashImage returns the value that a hashed index stores for v. It is HashedKey except for decimals
// with a fraction. MongoDB rounds decimals but truncates doubles, so that a query for a decimal
// does not find the equal double. hashImage gives equal values the same hash.
func hashImage(v bsonx.Value, r *interrupt.Running) (bsonx.Value, error) {
	n, err := hashOf(v, true, r)
	return bsonx.Int64(n), err
}
