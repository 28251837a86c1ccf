package timeseries

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// codeIndexedArray is MongoDB's code for an index on a measured field that is an array.
const codeIndexedArray = mongoerr.Code(5930501)

// BucketKey returns the key pattern of the bucket index for an index on measurements. The meta
// value stays unchanged. The time and each measured field become two fields, their lower and upper
// bound. The bound that comes first in the direction of the index is the first field.
func (o *Options) BucketKey(key bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for it := key.Iter(); it.Next(); {
		path, v := string(it.Key()), it.Value()
		if meta, ok := o.metaPath(path); ok {
			b.Value(meta, v)
			continue
		}
		if f, _ := v.AsFloat64(); f < 0 {
			b.Value("control.max."+path, v)
			b.Value("control.min."+path, v)
		} else {
			b.Value("control.min."+path, v)
			b.Value("control.max."+path, v)
		}
	}
	b.End()
	return b.Bytes()
}

// IsMetaOrTime reports whether a path of an index is not a measured field.
func (o *Options) IsMetaOrTime(path string) bool {
	_, ok := o.metaPath(path)
	return ok || path == o.Time
}

// Measured returns the measured fields in the key pattern of a bucket index.
func (o *Options) Measured(bucketKey bsonx.Doc) []string {
	var out []string
	for it := bucketKey.Iter(); it.Next(); {
		if path, ok := strings.CutPrefix(string(it.Key()), "control.min."); ok && path != o.Time {
			out = append(out, path)
		}
	}
	return out
}

// CheckIndexed returns an error if a measured field of an index is an array in a bucket, because
// bounds do not describe the elements of arrays.
func CheckIndexed(bucket bsonx.Doc, paths []string) error {
	for _, side := range [...]string{"min", "max"} {
		bounds := bucket.LookupPath("control", side)
		for _, path := range paths {
			v := bounds
			for name := range strings.SplitSeq(path, ".") {
				if v.Type != bsonx.TypeDocument {
					break
				}
				v = v.Doc().Lookup(name)
				if v.Type == bsonx.TypeArray {
					return mongoerr.New(codeIndexedArray, "Indexed measurement field contains an array value: %s", path)
				}
			}
		}
	}
	return nil
}
