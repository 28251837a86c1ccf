package hits

// MoveTo makes a writer use other counters, as if it had new connections.
func (w *Writer) MoveTo(c *Counters) { w.c = c }
