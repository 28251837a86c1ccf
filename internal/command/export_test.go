package command

// Names that tests outside of this package use.
var (
	FieldIndex = fieldIndex
)

// SetBatchBytes sets the size limit of a batch, so that tests of the limit need no large documents.
func (s *Service) SetBatchBytes(n int) { s.batchBytes = n }
