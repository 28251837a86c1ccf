package command

import (
	"time"
)

// recordsInterval is how often the records of sessions that are gone are looked for.
const recordsInterval = 5 * time.Minute
