package servers

import "strings"

const Slots = 16384

// SlotOf is the slot of a Redis Cluster that has key: CRC16 (XMODEM) of what stands
// in its first pair of braces, if that is not empty, or else of the whole.
func SlotOf(key string) int {
	if _, tail, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(tail, "}"); ok && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc % Slots)
}
