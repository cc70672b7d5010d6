package api

import (
	"github.com/gin-gonic/gin"
)

// metrics are served by what Config says, within the time that any answer has.
func (h *Handler) metrics(c *gin.Context) error {
	if err := (fields{}).query(c.Request); err != nil {
		return err
	}
	if h.Metrics == nil {
		return noRoute(c)
	}
	deadline(c.Writer)
	h.Metrics.ServeHTTP(c.Writer, c.Request)
	return nil
}
