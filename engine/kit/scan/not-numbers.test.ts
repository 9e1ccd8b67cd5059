/** What only looks like a personal number. */
import { equal } from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Builtin } from './builtins.ts'
import type { Rule } from './live.ts'
import { maskText, rulesOf } from './rules.ts'
import { maskJsonText } from './stream-json.ts'

const NUMBERS: readonly Builtin[] = ['Ssn', 'CreditCard', 'PhoneNumber', 'CaSin']
const rulesFor = (name: Builtin): readonly Rule[] => rulesOf({ builtins: [name], patterns: [] })

const INNOCENT = [
  ...['2026-03-01T12:00:59.123456Z', '1700000000', '1700000000123', '1700000000.123456789', '05.06.2024 10:30'],
  ...['01.02.24 10.30', '2024-01-02 03:04:05', '192.168.100.200', '010.020.030.040', '10.1.2.3:8080', 'v1.22.333'],
  ...['978-3-16-148410-0', '9783161484100', 'ISBN 0306406157', 'order 123456789', 'invoice #123456789', '$123456789'],
  ...['550e8400-e29b-41d4-a716-446655440000', 'd41d8cd98f00b204e9800998ecf8427e', '9b5a5dac4111111111111111f00'],
  ...[
    '0.4111111111111111',
    '7.4111111111111111',
    '[5.827068330288884, 6.367217981931698]',
    'EAN 4812168020679',
    '3.141592653589793',
    '52.520008, 13.404954',
    '1,234,567,890',
    '1 234 567 890',
    '12.345678901s'
  ],
  ...[
    'DE89 3704 0044 0532 0130 00',
    '1.3.6.1.4.1.311.21.8',
    '0x4111111111111111',
    '#123456',
    '12345-6789',
    '[1, 2, 3, 4]'
  ],
  ...[
    '2023\n2024\n2025\n2026',
    '123456789.50',
    '(2020) 577',
    '(2021) 1234567',
    '10.1000/182',
    '5 3 0 0 7',
    'a123456789'
  ]
]

describe('it stays', () => {
  test('digits that only look like a number', () => {
    for (const text of INNOCENT)
      equal(maskText(`It is ${text}, ok`, rulesOf({ builtins: NUMBERS, patterns: [] })), `It is ${text}, ok`)
  })

  test('a telephone number with its calling code is not taken for another kind of number', () => {
    for (const text of ['It is +420 601 874 339', 'tel:+250 250 123', 'It is (+376) 712 345', 'It is +372 12 3456, ok'])
      equal(maskText(text, rulesOf({ builtins: ['Ssn', 'CaSin'], patterns: [] })), text)
    equal(maskText('-a\n+536-22-1234\n', rulesFor('Ssn')), '-a\n+<SSN>\n')
    equal(maskText('it+is+536-22-1234', rulesFor('Ssn')), 'it+is+<SSN>')
  })

  test('a fraction in JSON is no card, whatever its integer is', () => {
    const rules = rulesFor('CreditCard')
    equal(maskJsonText('{"a":1.4111111111111111}', rules), '{"a":1.4111111111111111}')
    equal(maskJsonText('{"a":4111111111111111}', rules), '{"a":"<CREDIT_CARD>"}')
  })
})
