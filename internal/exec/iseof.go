package exec

// IsEOF reports whether a tree is already known to have no further row, without calling Next. A
// scan knows that only after it has read past its last record. A limit knows it as soon as it is
// used up.
func IsEOF(n Node) bool {
	if n.Stats().IsEOF {
		return true
	}
	switch n := n.(type) {
	case *EOF:
		return !n.isScan
	case *Or:
		return n.current == len(n.inputs)
	case *Limit:
		return n.left == 0 || IsEOF(n.inputs[0])
	case *IDHack:
		return n.done
	case *Sort:
		return n.loaded && n.sorter.Done()
	case *Replay:
		return n.next == len(n.rows) && (n.done || IsEOF(n.inputs[0]))
	case *Pass, *Project, *ProjectCovered, *Skip, *Fetch, *TextMatch:
		return IsEOF(n.Inputs()[0])
	default:
		return false
	}
}
