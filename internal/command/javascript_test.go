package command_test

import _ "github.com/sheafdb/sheaf/js" // tests run JavaScript
