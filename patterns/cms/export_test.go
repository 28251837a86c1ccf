package cms

import "github.com/sheafdb/sheaf/patterns"

// Clock returns the clock of the Config.
func (c *CMS) Clock() patterns.Clock { return c.env.Clock }
