//go:build long

package main

import "github.com/sheafdb/sheaf/examples/internal/demo"

func Example() {
	demo.Test("bank", run)
	// Output:
	// rent of 400.00: done
	// rent of 400.00: done
	//   joe has 600.00 and can spend 600.00
	//   ann has 400.00 and can spend 400.00
	// twenty gifts of 50.00 at once: 12 done, 8 refused
	//   joe has 0.00 and can spend 0.00
	//   ann has 1000.00 and can spend 1000.00
	// a hold of 300.00
	//   joe has 0.00 and can spend 0.00
	//   ann has 1000.00 and can spend 700.00
	// 220.00 of it are taken
	//   joe has 220.00 and can spend 220.00
	//   ann has 780.00 and can spend 780.00
	// undo:rent-5: done
	//   joe has 620.00 and can spend 620.00
	//   ann has 380.00 and can spend 380.00
	// ledger: 0 violations
}
