package plan

import "context"

// countBounds counts the long bounds of the solutions as what the operation holds. They take several times the memory of the
// values that they were made of.
func countBounds(ctx context.Context, solutions []*solution) error {
	var counted map[sharedKey]bool
	for _, s := range solutions {
		if err := countNode(ctx, s.root, &counted); err != nil {
			return err
		}
	}
	return nil
}
