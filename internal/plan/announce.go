package plan

import (
	"context"

	"github.com/sheafdb/sheaf/internal/storage"
)

// announce tells the operation which plan it runs.
func announce(ctx context.Context, e *Execution) {
	if o, ok := ctx.Value(storage.PlanKey{}).(storage.PlanObserver); ok {
		o.Planned(e)
	}
}
