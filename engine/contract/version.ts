/** Of the program; package.json says the same (version.test.ts). */
export const VERSION = '0.1.0'
