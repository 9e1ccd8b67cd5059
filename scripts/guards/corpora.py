"""
Texts with personal data in known places, and texts without any, one JSON object on each line:
{corpus, kind, text, spans, presidio}; spans are [start, end, label] in code points, `presidio` what its recognisers
find. The first line is {packages}: names, versions and licences, as the installed packages say.

Values are Faker's, and the example numbers of libphonenumber; sentences are the templates of presidio-evaluator.
"""
import json
import random
import re
import sys
from importlib.metadata import distribution

import phonenumbers
import tldextract
from faker import Faker

# The list that is part of the package, and none from the network.
tldextract.extract = tldextract.TLDExtract(suffix_list_urls=())

from presidio_analyzer.predefined_recognizers import (  # noqa: E402
    CaSinRecognizer,
    CreditCardRecognizer,
    EmailRecognizer,
    PhoneRecognizer,
    UsSsnRecognizer,
)

SEED = int(sys.argv[1])
PACKAGES = ["Faker", "phonenumbers", "presidio-evaluator", "presidio-analyzer"]
LOCALES = """en_US en_GB en_AU en_IN de_DE fr_FR es_ES it_IT pt_BR nl_NL pl_PL sv_SE da_DK cs_CZ ru_RU tr_TR ja_JP
ko_KR zh_CN hi_IN""".split()
PHONES_PER_LOCALE = 50
OF_EACH_KIND = 500
OF_EACH_NEGATIVE = 300
SENTENCES_PER_TEMPLATE = 10
RECOGNISERS = {
    "PhoneNumber": (PhoneRecognizer(), "PHONE_NUMBER"),
    "CreditCard": (CreditCardRecognizer(), "CREDIT_CARD"),
    "Ssn": (UsSsnRecognizer(), "US_SSN"),
    "CaSin": (CaSinRecognizer(), "CA_SIN"),
    "Email": (EmailRecognizer(), "EMAIL_ADDRESS"),
}


def faker_of(locale):
    fake = Faker(locale)
    fake.seed_instance(SEED)
    return fake


def case(corpus, kind, before, value, after, label):
    span = [len(before), len(before) + len(value), label]
    return {"corpus": corpus, "kind": kind, "text": before + value + after, "spans": [span]}


def libphonenumber():
    types = (phonenumbers.PhoneNumberType.MOBILE, phonenumbers.PhoneNumberType.FIXED_LINE)
    formats = phonenumbers.PhoneNumberFormat
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        for type_ in types:
            number = phonenumbers.example_number_for_type(region, type_)
            if number is None:
                continue
            for kind, format_ in (("international", formats.INTERNATIONAL), ("national", formats.NATIONAL)):
                value = phonenumbers.format_number(number, format_)
                yield case("libphonenumber", kind, "It is ", value, ", ok", "PhoneNumber")


def values():
    for locale in LOCALES:
        fake = faker_of(locale)
        for _ in range(PHONES_PER_LOCALE):
            value = fake.phone_number()
            yield case("Faker", locale, "Contact: my number is ", value, ", thanks", "PhoneNumber")
    us, canada = faker_of("en_US"), faker_of("en_CA")
    makers = {"CreditCard": us.credit_card_number, "Ssn": us.ssn, "Email": us.email, "CaSin": canada.ssn}
    for label, maker in makers.items():
        for _ in range(OF_EACH_KIND):
            yield case("Faker", label, "Her value is ", maker(), ", ok", label)


def negatives():
    fake, rng = faker_of("en_US"), random.Random(SEED)
    makers = {
        "ISBN-13": fake.isbn13,
        "ISBN-10": fake.isbn10,
        "UUID": fake.uuid4,
        "IPv4": fake.ipv4,
        "IPv6": fake.ipv6,
        "MAC": fake.mac_address,
        "SHA-1": fake.sha1,
        "MD5": fake.md5,
        "ISO 8601": fake.iso8601,
        "date and time": lambda: fake.date("%d.%m.%Y %H:%M"),
        "price": lambda: "%.2f" % rng.uniform(1, 1e6),
        "thousands": lambda: "{:,}".format(rng.randint(10**6, 10**10)),
        "coordinates": lambda: "%.6f, %.6f" % (rng.uniform(-90, 90), rng.uniform(-180, 180)),
        "float": lambda: repr(rng.random() * 10),
        "epoch": lambda: str(rng.randint(1_600_000_000, 1_800_000_000)),
        "epoch in ms": lambda: str(rng.randint(1_600_000_000_000, 1_800_000_000_000)),
        "EAN-13": fake.ean13,
        "version": lambda: "%d.%d.%d" % (rng.randint(0, 20), rng.randint(0, 99), rng.randint(0, 9999)),
        "order": lambda: "ORD-%06d-%04d" % (rng.randint(0, 999_999), rng.randint(0, 9999)),
        "IBAN": fake.iban,
    }
    for kind, maker in makers.items():
        for _ in range(OF_EACH_NEGATIVE):
            yield {"corpus": "negatives", "kind": kind, "text": f"Value {maker()} here", "spans": []}


LABELS = {"phone_number": "PhoneNumber", "credit_card_number": "CreditCard", "ssn": "Ssn", "email": "Email"}


def sentences():
    package = distribution("presidio-evaluator")
    path = package.locate_file("presidio_evaluator/data_generator/raw_data/templates.txt")
    with open(path, encoding="utf-8", errors="replace") as file:
        templates = [line.strip() for line in file if line.strip()]
    fake = faker_of("en_US")
    other = {
        "person": fake.name,
        "organization": fake.company,
        "age": lambda: str(fake.random_int(1, 99)),
        "zipcode": fake.postcode,
        "ip_address": fake.ipv4,
        "date_time": lambda: fake.date("%d.%m.%Y %H:%M"),
        "date_of_birth": fake.date,
        "us_driver_license": lambda: fake.bothify("?#######"),
        "nationality": fake.country,
        "nation_woman": fake.country,
        "nation_plural": fake.country,
    }
    for _ in range(SENTENCES_PER_TEMPLATE):
        for template in templates:
            text, spans, done = "", [], 0
            for match in re.finditer(r"{{(\w+)}}", template):
                name = match.group(1)
                text += template[done : match.start()]
                value = str((other.get(name) or getattr(fake, name))()).replace("\n", ", ")
                if name in LABELS:
                    spans.append([len(text), len(text) + len(value), LABELS[name]])
                text += value
                done = match.end()
            text += template[done:]
            yield {"corpus": "presidio-evaluator", "kind": "sentences", "text": text, "spans": spans}


def licence(name):
    metadata = distribution(name).metadata
    said = metadata["License-Expression"] or metadata["License"]
    return {"name": name, "version": metadata["Version"], "licence": said}


def main():
    random.seed(SEED)
    print(json.dumps({"packages": [licence(name) for name in PACKAGES]}))
    for corpus in (libphonenumber, values, sentences, negatives):
        for one in corpus():
            found = []
            for label, (recogniser, entity) in RECOGNISERS.items():
                hits = recogniser.analyze(one["text"], [entity], None)
                found += [[hit.start, hit.end, label] for hit in hits]
            print(json.dumps({**one, "presidio": found}))


main()
