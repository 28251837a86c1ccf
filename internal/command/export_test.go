package command

// What outside tests of this package use.
var (
	FieldIndex = fieldIndex
)

// SetBatchBytes makes batches smaller than a reply can be, so that tests need no large documents.
func (s *Service) SetBatchBytes(n int) { s.batchBytes = n }
