"""The encoding of protocol buffers, as far as files of cases need it."""


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data
