package hits

// MoveTo gives a writer another way to the server, as if its connections were new.
func (w *Writer) MoveTo(c *Counters) { w.c = c }
