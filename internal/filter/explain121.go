package filter

import "github.com/sheafdb/sheaf/internal/bsonx"

// Explain121 returns errInfo.details for a document that the filter, a validator, does not match.
func (f *Filter) Explain121(doc bsonx.Doc) bsonx.Doc { return bsonx.Empty }
