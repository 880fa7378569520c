"""Words and forms, in several languages, of statements that name their subject. Pure data."""

from __future__ import annotations

# Who says "I", in the words of a memory that a program phrased.
SPEAKERS = (
    r"I|(?:The|the) user|User|Ich|[Dd]er (?:Nutzer|Benutzer)|[Dd]ie Nutzerin|Je|L'utilisat(?:eur|rice)|Yo|El usuario|"
    r"J'|Io|L'utente|Eu|O usuário|Ik|De gebruiker|Jeg|Brukeren|Jag|Användaren|Я"
)
OWN = (
    r"my|our|the user's|user's|mein|meine|mi|mon|ma|notre|(?:il )?mio|(?:la )?mia|(?:o )?meu|(?:a )?minha|mijn|"
    r"min|mitt|"
    r"mit|мой|моя|моё"
)

HOME_VERBS = (
    r"(?:now |currently )?lives? in|(?:am|is) (?:now )?living in|'m (?:now )?(?:living|based) in|"
    r"(?:am|is) (?:now |currently )?based in|"
    r"(?:have |has |'ve |'s )?(?:just |recently )?(?:moved|relocated) (?:from [^,.]{2,40} )?to|"
    r"(?:wohne|wohnt|lebe|lebt) (?:jetzt |nun |seit [^,.]{3,20} )?in|"
    r"(?:bin|ist) (?:im [^\W\d_]+ |[^,.]{0,20} )?(?:von [^,.]{2,30} )?nach|"
    r"habite (?:maintenant |désormais )?à|vis (?:maintenant )?à|vit (?:maintenant )?à|"
    r"(?:ai|a) déménagé (?:de [^,.]{2,30} )?à|"
    r"(?:ahora )?(?:vivo|vive) (?:ahora )?en|me (?:[Hh]e mudado|mudé) (?:de [^,.]{2,30} )?a|"
    r"se mudó (?:de [^,.]{2,30} )?a|"
    r"(?:ora )?(?:vivo|vive|abito|abita) (?:ora |adesso )?a|mi sono trasferit[oa] (?:da [^,.]{2,30} )?a|"
    r"moro (?:agora )?em|mora (?:agora )?em|me mudei (?:de [^,.]{2,30} )?para|"
    r"woont? (?:nu )?in|ben (?:van [^,.]{2,30} )?naar|"
    r"(?:bor|bur) (?:nå |nu )?i|flyttet (?:fra [^,.]{2,30} )?til|flyttade (?:från [^,.]{2,30} )?till|"
    r"(?:теперь |сейчас )?(?:живу|живёт|живет) (?:теперь |сейчас )?в|переехала? (?:из [^,.]{2,30} )?в"
)
JOB_VERBS = (
    r"(?:now |currently )?works? (?:at|for)|(?:am|is|'m) (?:now |currently )?(?:working|employed) (?:at|for|by)|"
    r"(?:have |has |'ve |'s )?(?:just |recently )?(?:joined|started (?:working )?at|started (?:working )?for)|"
    r"(?:arbeite|arbeitet) (?:jetzt |nun )?bei|travaille (?:maintenant |désormais )?chez|"
    r"trabaj[oa] (?:ahora )?en|lavor[oa] (?:ora )?(?:da|per|in)|trabalh[oa] (?:agora )?(?:na|no|em)|"
    r"werkt? (?:nu )?bij|jobber (?:nå )?(?:i|hos)|arbetar (?:nu )?(?:på|hos)|arbejder (?:nu )?(?:i|hos)|"
    r"(?:теперь )?работа(?:ю|ет) в"
)
# How a sentence may go on after the place or the employer, and words of one that holds only at times.
CONNECTORS = (
    r"in|since|as|from|now|with|and|but|because|seit|als|mit|und|depuis|comme|avec|et|desde|como|con|y|da|come|"
    r"e|sinds|met|en|"
    r"siden|som|med|og|sedan|och|с|gezogen|umgezogen|verhuisd|geworden"
)
AT_TIMES = (
    r"winter|summer|spring|autumn|fall|weekends?|weekdays?|week|half|part|sometimes|mostly|often|usually|until|till|"
    r"bis|manchmal|halb|jusque|hasta|fino|até|tot|til|sommer|été|hiver|verano|invierno"
)
# First words of sentences whose verb says "I"; they become "I …".
WITHOUT_SPEAKER = (
    r"(?:[Aa]hora |[Oo]ra |[Aa]gora |[Тт]еперь )?(?:[Vv]ivo|[Aa]bito|[Mm]oro|[Tt]rabaj[oó]|[Ll]avoro|[Tt]rabalho|"
    r"[Mm]e (?:[Hh]e mudado|mud)|[Mm]i sono|[Жж]иву|[Рр]аботаю|[Пп]ереехал)"
)
NAME_FORMS = (
    r"[Mm]y name is|(?:The|the) user's name is|I(?: am|'m) called|[Mm]ein Name ist|[Ii]ch heiße|[Jj]e m'appelle|"
    r"[Mm]e llamo|[Mm]i chiamo|[Mm]e chamo|[Ii]k heet|[Jj]eg heter|[Jj]ag heter|[Jj]eg hedder|[Мм]еня зовут"
)

# `OWN` and NAME are filled in. `who` owns the `thing`, and `value` is its value.
_IS = r"(?i:is|ist|est|es|è|é|er|är|heißt|heter|hedder|heet|s'appelle|se llama|si chiama|se chama|–|—)"
_NOW = r"(?i:(?: (?:now|currently|jetzt|nun|maintenant|désormais|ahora|ora|adesso|agora|nu|nå|теперь))?)"
_NEW = r"(?i:(?:(?:new|current|neuer?|neues|nouve(?:au|lle)|nuev[oa]|nuov[oa]|nov[oa]|nieuwe|nye?|nya|новый|новая) )?)"
_THING = r"(?P<thing>[^\W\d_]+(?:[ -][^\W\d_]+){0,2}?)"
OWNED_FORMS = (
    rf"(?P<who>(?i:OWN)|NAME's|NAMEs') {_NEW}{_THING}{_NOW} {_IS}{_NOW} (?P<value>.+)",
    # "Kims Chefin ist …", "Min sjef" with the name of a person before it
    rf"(?P<who>NAME)s (?P<thing>[^\W\d_]+) {_IS}{_NOW} (?P<value>.+)",
    # "la jefa de Ana es …", "le chef de Paul est …", "the manager of Kim is …"
    rf"(?i:the|le|la|el|il|lo|o|a|de|die|der) {_NEW}{_THING} (?:of|de|di|do|da|van|von) (?P<who>NAME){_NOW} {_IS}{_NOW}"
    r" (?P<value>.+)",
)
FAVORITES = (
    r"favou?rite (.+)|preferred (.+)|lieblings-?(\w+)|(.+) (?:préférée?|favorit[oa]|preferid[oa]|preferit[oa])|"
    r"lievelings-?(\w+)|favoritt?-?(\w+)|yndlings-?(\w+)|люби(?:мый|мая|мое|мое) (.+)"
)
# What no value begins with: it denies, doubts, or says how something is.
HEDGES = (
    r"not|no|never|maybe|perhaps|probably|possibly|either|unknown|unclear|going|being|getting|about|very|too|so|also|"
    r"always|often|here|there|what|why|how|nicht|kein\w*|vielleicht|wahrscheinlich|unbekannt|weg|pas|peut|sans|"
    r"no|quizás|"
    r"non|forse|não|talvez|niet|geen|misschien|ikke|inte|kanskje|kanske|не"
)

_THINGS = {
    "manager": "manager boss supervisor line-manager chef chefin vorgesetzter vorgesetzte patron patronne "
    "responsable jefe"
    " jefa capo chefe gerente baas leidinggevende sjef leder начальник начальница",
    "doctor": "doctor gp physician hausarzt hausärztin médecin médico médica medico huisarts lege fastlege "
    "läkare læge врач",
    "dentist": "dentist zahnarzt zahnärztin dentiste dentista tandarts tannlege tandläkare tandlæge стоматолог",
    "therapist": "therapist therapeut therapeutin thérapeute terapeuta",
    "lawyer": "lawyer attorney anwalt anwältin avocat avocate abogado abogada avvocato advogado advogada "
    "advocaat advokat",
    "accountant": "accountant steuerberater steuerberaterin comptable contable commercialista contador boekhouder",
    "landlord": "landlord landlady vermieter vermieterin propriétaire casero casera huisbaas utleier hyresvärd",
    "assistant": "assistant assistentin asistente assistente",
    "spouse": "husband wife ehemann ehefrau mari épouse esposo esposa marito moglie echtgenoot ektemann maka",
    "phone number": "phone number|telephone number|mobile number|cell number|phone|telefonnummer|handynummer|"
    "numéro de téléphone|número de teléfono|numero di telefono|número de telefone|telefoonnummer|номер телефона",
    "email": "email|e-mail|email address|e-mail address|e-mail-adresse|adresse e-mail|correo|correo electrónico|epost|"
    "e-post|e-mailadres|почта",
    "address": "address|home address|adresse|dirección|indirizzo|endereço|adres|adress|адрес",
    "birthday": "birthday|date of birth|geburtstag|anniversaire|cumpleaños|compleanno|aniversário|verjaardag|bursdag|"
    "födelsedag|fødselsdag|день рождения",
    "time zone": "time zone|timezone|zeitzone|fuseau horaire|zona horaria|fuso orario|fuso horário|tijdzone|"
    "tidssone|tidszon",
    "parking spot": "parking spot|parking space|parkplatz|stellplatz|place de parking|plaza de garaje|posto auto|"
    "parkeerplaats|parkeringsplass|parkeringsplats",
    "budget": "budget|presupuesto|orçamento|budsjett|бюджет",
    "shoe size": "shoe size|schuhgröße|pointure|talla de zapatos|numero di scarpe|schoenmaat|skostørrelse|skostorlek",
    "job title": "job title|berufsbezeichnung",
    "employer": "employer|arbeitgeber|arbeitgeberin|employeur|empleador|datore di lavoro|empregador|werkgever|"
    "arbeidsgiver",
    "desk": "desk|desk number|office|büro|bureau|kontor",
    "locker": "locker|locker number|schließfach|spind",
    "license plate": "license plate|licence plate|number plate|kennzeichen|plaque d'immatriculation|matrícula|"
    "targa|kenteken",
    "age": "age|alter|âge|edad|età|idade|leeftijd|alder|ålder",
    "weight": "weight|gewicht|poids|peso|vekt|vikt",
    "height": "height|körpergröße|größe|taille|altura|estatura|altezza|lengte|høyde|längd",
    "emergency contact": "emergency contact|notfallkontakt|contacto de emergencia|contatto di emergenza",
    "wifi name": "wifi name|wi-fi name|wlan-name",
}
NUMBERED = frozenset({"phone number", "budget", "shoe size", "age", "weight", "height"})  # their values have a digit
OF_PEOPLE = frozenset(
    {"manager", "doctor", "dentist", "therapist", "lawyer", "accountant", "landlord", "assistant"}
) | {
    "spouse",
    "emergency contact",
}
THINGS = {
    name: topic
    for topic, names in _THINGS.items()
    for name in (names.split("|") if "|" in names or topic not in OF_PEOPLE else names.split())
}

# A country says less than a town in it, so the two do not end each other.
_COUNTRIES = (
    "argentina|australia|austria|österreich|autriche|belgium|belgien|belgique|brazil|brasil|brasilien|bulgaria|canada|"
    "kanada|chile|china|colombia|croatia|czechia|denmark|danmark|dänemark|england|estonia|europe|europa|finland|suomi|"
    "france|frankreich|francia|frança|germany|deutschland|allemagne|alemania|alemanha|germania|duitsland|"
    "tyskland|greece|"
    "hungary|iceland|india|indien|indonesia|ireland|irland|israel|italy|italien|italie|italia|itália|japan|japon|kenya|"
    "korea|latvia|lithuania|malaysia|mexico|méxico|mexiko|morocco|netherlands|the netherlands|niederlande|nederland|"
    "new zealand|nigeria|norway|norge|norwegen|norvège|noruega|pakistan|peru|perú|philippines|poland|polen|polska|"
    "pologne|portugal|romania|russia|rumänien|schweiz|scotland|serbia|slovakia|slovenia|south africa|south korea|spain|"
    "spanien|españa|espagne|espanha|spagna|spanje|suisse|svizzera|sweden|sverige|schweden|suède|switzerland|taiwan|"
    "thailand|tunisia|turkey|türkei|türkiye|uk|ukraine|united kingdom|united states|usa|us|vietnam|wales|россии|"
    "германии|украине|норвегии"
)
COUNTRIES = frozenset(_COUNTRIES.split("|"))
