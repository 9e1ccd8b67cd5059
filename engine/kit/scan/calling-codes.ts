/**
 * ITU-T E.164: calling codes, and how many digits follow them. The lengths are those of fixed and mobile numbers (of
 * codes that are no country's: toll-free and VoIP too) in the metadata of libphonenumber (phonenumbers 9.0.43,
 * Apache-2.0), from the shortest, 5 at least, to the longest.
 */

const BY_LENGTHS: Readonly<Record<string, string>> = {
  '5-5': '247 290 500 682',
  '5-7': '676 677 678 688 690',
  '5-8': '686',
  '5-9': '27',
  '5-10': '82 358 685',
  '5-11': '352',
  '5-13': '43',
  '5-15': '49',
  '6-6': '298 299 672 681 687',
  '6-7': '597',
  '6-9': '40 252 359 376 421 508',
  '6-10': '53 63 95 98 880',
  '6-12': '39',
  '7-7': '238 239 246 248 269 291 297 501 592 673 674 679 680 683 691 692 960',
  '7-8': '230 241 267 372 507 599 670 675 961 975',
  '7-9': '46 48 220 231 254 265 354 423 595 967',
  '7-10': '243 353',
  '7-11': '86',
  '7-12': '62 381 882',
  '8-8': `45 47 65 216 222 223 226 227 228 232 235 236 253 257 266 268 350 356 357 370 371 373 374 382 386 389 502 503
    504 505 506 509 591 598 689 800 852 853 965 968 973 974 993`,
  '8-9': '32 36 51 66 213 224 250 258 264 355 377 385 387 593 855 886 962 963 970 971',
  '8-10': '20 57 60 64 378 850 856 964 976 977',
  '8-12': '383 883 972',
  '9-9': `33 34 41 56 61 93 94 211 212 218 221 233 237 240 242 244 245 249 251 255 256 260 261 262 263 351 375 380 420
    590 594 596 966 979 992 994 995 996 998`,
  '9-10': '44 81 84 92 808 881',
  '9-11': '31',
  '9-12': '870',
  '10-10': '1 7 30 52 58 90 91 225 229 234 888',
  '10-11': '54 55',
  '12-12': '878'
}

const LENGTHS = new Map<string, readonly [number, number]>()
for (const [lengths, codes] of Object.entries(BY_LENGTHS)) {
  const [min, max] = lengths.split('-').map(Number) as [number, number]
  for (const code of codes.split(/\s+/)) LENGTHS.set(code, [min, max])
}

/** E.164: with the calling code. */
const DIGITS_MAX = 15
const DIGITS_MIN = 8

/** Whether `digits` are a calling code and as many as belong to it; a 0, as dialled within, may stand between. */
export function isInternational(digits: string): boolean {
  if (digits.length < DIGITS_MIN || digits.length > DIGITS_MAX + 1) return false
  for (let width = 1; width <= 3; width++) {
    const lengths = LENGTHS.get(digits.slice(0, width))
    if (lengths === undefined) continue
    const length = digits.length - width
    const within = digits[width] === '0' ? length - 1 : length
    return (length >= lengths[0] || within >= lengths[0]) && within <= lengths[1]
  }
  return false
}
