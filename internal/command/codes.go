package command

import "github.com/sheafdb/sheaf/internal/mongoerr"

// Codes that only this package uses.
const (
	CodeUnsupportedFormat              = mongoerr.Code(12)
	CodeClientMetadataMissingField     = mongoerr.Code(183)
	CodeClientMetadataAppNameTooLarge  = mongoerr.Code(184)
	CodeClientMetadataDocumentTooLarge = mongoerr.Code(185)
)
