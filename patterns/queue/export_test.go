package queue

import "github.com/sheafdb/sheaf/patterns"

// Clock returns the clock of the Config.
func (q *Queue) Clock() patterns.Clock { return q.env.Clock }
