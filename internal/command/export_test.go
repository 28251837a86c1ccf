package command

// SetBatchBytes makes batches smaller than a reply can be, so that tests need no large documents.
func (s *Service) SetBatchBytes(n int) { s.batchBytes = n }
