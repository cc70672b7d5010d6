package telemetry

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// What a variable says wrongly may be a password or a token. It is told in our log which one it is.
func TestSecretsOfTheExporters(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		want        []string
	}{
		{"OTEL_EXPORTER_OTLP_HEADERS", "Authorization: Bearer geheim", []string{`what="parse headers"`, "invalid OTEL_EXPORTER_OTLP_HEADERS"}},
		{"OTEL_EXPORTER_OTLP_HEADERS", "a=b,authorization=geheim%zz", []string{`what="escape header value"`}},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://u:geheim@h:x", []string{`what="parse url"`}},
		{"OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere/ca.pem", []string{`what="read tls ca cert file" file=/nowhere/ca.pem err=`}},
	} {
		t.Run(tt.value, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv("OTEL_LOGS_EXPORTER", "otlp")
			t.Setenv(tt.name, tt.value)
			var log bytes.Buffer
			tel, err := Open(t.Context(), Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_ = tel.Close(ctx) // there is nobody to deliver to
			for _, want := range tt.want {
				if !strings.Contains(log.String(), want) {
					t.Errorf("the log does not have %s, but\n%s", want, &log)
				}
			}
			if strings.Contains(log.String(), "geheim") {
				t.Errorf("the log has a secret:\n%s", &log)
			}
		})
	}
}
