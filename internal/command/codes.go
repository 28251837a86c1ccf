package command

import "github.com/sheafdb/sheaf/internal/mongoerr"

// Codes that only this package uses.
const (
	codeUnsupportedFormat              = mongoerr.Code(12)
	codeClientMetadataMissingField     = mongoerr.Code(183)
	codeClientMetadataAppNameTooLarge  = mongoerr.Code(184)
	codeClientMetadataDocumentTooLarge = mongoerr.Code(185)
)
