package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/api/web"
)

// page shows a person what the gateway has, in a browser.
func (h *Handler) page(c *gin.Context) error { return h.show(c, h.site.Page) }

// docs shows what this interface is.
func (h *Handler) docs(c *gin.Context) error { return h.show(c, h.site.Docs) }

// pagePart is a style or a script of those pages.
func (h *Handler) pagePart(c *gin.Context) error {
	return h.show(c, func() (web.File, error) {
		f, err := h.site.File(c.Param("file"))
		if err != nil {
			return f, noRoute(c)
		}
		return f, nil
	})
}

func (h *Handler) show(c *gin.Context, find func() (web.File, error)) error {
	f, err := find()
	if err != nil {
		return err
	}
	header := c.Writer.Header()
	header.Set("Content-Security-Policy", web.Policy)
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	write(c.Writer, http.StatusOK, f.Type, f.Body)
	return nil
}
