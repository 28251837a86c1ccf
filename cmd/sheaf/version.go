package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/sheafdb/sheaf"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionText())
			return err
		},
	}
}

// versionText returns the version, and the commit from which the program was built.
func versionText() string {
	return fmt.Sprintf("sheaf %s (commit %s, MongoDB 8.0 compatible, %s, %s/%s)",
		sheaf.Version, sheaf.Revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
